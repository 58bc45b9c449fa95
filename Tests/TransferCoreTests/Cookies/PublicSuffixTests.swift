// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite struct PublicSuffixTests {
    static let list = PublicSuffixes(
        """
        // ===BEGIN ICANN DOMAINS===
        com
        uk\r
        co.uk   what follows a blank is no part of the rule
        jp
        *.kawasaki.jp
        !city.kawasaki.jp
        *.ck
        !www.ck
        公司.cn
        // ===BEGIN PRIVATE DOMAINS===
        github.io
        .leading.example
        a.*.inner
        *
        !

        """
    )

    @Test(
        "Rules, wildcards, exceptions and the rule of the single label decide what a public suffix is",
        arguments: [
            ("com", true), ("example.com", false), ("uk", true), ("co.uk", true), ("CO.UK.", true),
            ("example.co.uk", false), ("jp", true), ("kawasaki.jp", false), ("any.kawasaki.jp", true),
            ("a.any.kawasaki.jp", false), ("city.kawasaki.jp", false), ("a.city.kawasaki.jp", false), ("ck", true),
            ("any.ck", true), ("www.ck", false), ("a.www.ck", false), ("xn--55qx5d.cn", true),
            ("x.xn--55qx5d.cn", false), ("github.io", true), ("me.github.io", false), ("leading.example", true),
            ("unlisted", true), ("x.unlisted", false), ("", true), (".", true), ("..", false), ("localhost", true),
        ]
    )
    func suffixes(_ domain: String, _ isSuffix: Bool) { #expect(Self.list.isPublicSuffix(domain) == isSuffix) }

    @Test("Without a list only a single label is a public suffix")
    func empty() {
        #expect(PublicSuffixes().isEmpty && PublicSuffixes("").count == 0)
        #expect(PublicSuffixes().isPublicSuffix("com") && !PublicSuffixes().isPublicSuffix("co.uk"))
        #expect(Self.list.count == 11)
    }

    @Test("The built-in list protects the best known suffixes, without any list installed")
    func builtIn() throws {
        for suffix in ["co.uk", "com.au", "github.io", "co.jp", "x.sch.uk", "s3.amazonaws.com", "pages.dev"] {
            #expect(PublicSuffixes.builtIn.isPublicSuffix(suffix), "\(suffix)")
            #expect(!PublicSuffixes.builtIn.isPublicSuffix("me.\(suffix)"), "\(suffix)")
        }
        #expect(PublicSuffixes.builtIn.count > 150 && !PublicSuffixes.builtIn.isPublicSuffix("example.com"))
        var jar = CookieJar()
        try jar.take("a=b; Domain=co.uk", "c=d; Domain=x.co.uk", from: "http://x.co.uk/")
        #expect(try jar.sent("http://x.co.uk/") == "c=d" && jar.sent("http://y.co.uk/") == nil)
    }

    @Test("No cookie is taken for a public suffix, but for the host that is one itself")
    func cookies() throws {
        #expect(try received("a=b; Domain=co.uk", from: "http://x.co.uk/", publicSuffixes: Self.list) == nil)
        #expect(try received("a=b; Domain=co.uk.", from: "http://x.co.uk./", publicSuffixes: Self.list) == nil)
        let own = try received("a=b; Domain=github.io", from: "http://github.io/", publicSuffixes: Self.list)
        #expect(own?.isHostOnly == true && own?.domain == "github.io")
        let below = try received("a=b; Domain=x.co.uk", from: "http://y.x.co.uk/", publicSuffixes: Self.list)
        #expect(below?.isHostOnly == false)
        var jar = CookieJar(publicSuffixes: Self.list)
        try jar.take("a=b; Domain=co.uk", "c=d; Domain=x.co.uk", from: "http://x.co.uk/")
        #expect(try jar.sent("http://x.co.uk/") == "c=d" && jar.sent("http://y.co.uk/") == nil)
    }

    @Test("Of many rules each is found")
    func many() {
        let names = (0..<5000).map { "n\($0 &* 7919 % 5000).x\($0 % 7)" }
        let list = PublicSuffixes(names.joined(separator: "\n"))
        #expect(list.count == 5000)
        #expect(names.allSatisfy { list.isPublicSuffix($0) && !list.isPublicSuffix("a." + $0) })
        #expect(!list.isPublicSuffix("n5000.x0"))
    }
}
