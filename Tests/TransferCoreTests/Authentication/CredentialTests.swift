// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite struct CredentialTests {
    @Test("Basic sends name and password in UTF-8 (RFC 7617)")
    func basic() {
        #expect(
            BasicAuthentication.authorization(user: "Aladdin", password: "open sesame")
                == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        )
        #expect(BasicAuthentication.authorization(user: "test", password: "123£") == "Basic dGVzdDoxMjPCow==")
        #expect(BasicAuthentication.authorization(user: "", password: "a:b") == "Basic OmE6Yg==")
        #expect(Credential.password(user: "a", password: "b").authorization == "Basic YTpi")
    }

    @Test("Basic refuses a colon in the name and control characters")
    func refusedByBasic() {
        for (user, password) in [("a:b", "c"), ("a\n", "b"), ("a", "b\r"), ("a\0", ""), ("", "\u{7F}")] {
            #expect(BasicAuthentication.authorization(user: user, password: password) == nil)
        }
        #expect(Credential.password(user: "a:b", password: "").authorization == nil)
    }

    @Test("Bearer sends a token of its characters and refuses any other (RFC 6750 §2.1)")
    func bearer() {
        #expect(BearerAuthentication.authorization(token: "mF_9.B5f-4.1JqM") == "Bearer mF_9.B5f-4.1JqM")
        #expect(Credential.bearer("a~+/b==").authorization == "Bearer a~+/b==")
        for token in ["", "=", "a b", "a=b", "a,b", "a\"", "a\r\nX: y", "é", "a:b", "a\0"] {
            #expect(BearerAuthentication.authorization(token: token) == nil, "\(token)")
        }
    }

    @Test("No way of printing a credential shows anything of it")
    func printing() {
        for credential in [Credential.password(user: "geheim", password: "geheim"), .bearer("geheim")] {
            var dumped = ""
            dump(credential, to: &dumped)
            dump(["x": [credential]], to: &dumped)
            let texts = [
                "\(credential)", String(describing: credential), String(reflecting: credential),
                String(describing: [credential]), String(reflecting: Optional(credential)), dumped,
                Mirror(reflecting: credential).children.map { "\($0)" }.joined(),
            ]
            #expect(texts.allSatisfy { !$0.contains("geheim") })
            #expect(credential.description.contains("…"))
        }
    }
}
