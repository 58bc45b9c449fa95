// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import HTTPTransport

@Suite("The files with the machine's authorities") struct SystemAuthoritiesTests {
    private func find(
        _ variables: [String: String] = [:],
        files: [String] = [],
        directories: [String] = [],
        hashed: [String] = []
    ) -> SystemAuthorities {
        SystemAuthorities(
            SystemAuthorities.Machine(
                variable: { variables[$0] },
                kind: { files.contains($0) ? .file : directories.contains($0) ? .directory : nil },
                hasHashedNames: { hashed.contains($0) }
            )
        )
    }

    @Test("Without variables they are those of the distribution")
    func usual() {
        let bundle = "/etc/ssl/certs/ca-certificates.crt"
        let debian = self.find(files: [bundle], directories: ["/etc/ssl/certs"])
        #expect(debian.file == bundle && debian.directories == ["/etc/ssl/certs"] && !debian.isEmpty)
        #expect(debian.isUsual && debian.problem == nil)
        let fedora = self.find(files: ["/etc/pki/tls/certs/ca-bundle.crt"])
        #expect(fedora.file == "/etc/pki/tls/certs/ca-bundle.crt" && !fedora.isEmpty)
        let alpine = self.find(files: ["/etc/ssl/cert.pem"])
        #expect(alpine.file == "/etc/ssl/cert.pem" && !alpine.isEmpty && !alpine.isUsual)
    }

    @Test("A variable replaces the file or the directories, an empty one nothing")
    func variables() {
        let (files, directories) = (["/etc/ssl/cert.pem", "/ca.pem"], ["/etc/ssl/certs", "/a", "/b"])
        #expect(self.find(["SSL_CERT_FILE": "/ca.pem"], files: files).file == "/ca.pem")
        let both = self.find(
            ["SSL_CERT_FILE": "/ca.pem", "SSL_CERT_DIR": "/a::/none:/b"],
            files: files,
            directories: directories
        )
        #expect(both.file == "/ca.pem" && both.directories == ["/a", "/b"] && !both.isEmpty && !both.isUsual)
        #expect(self.find(["SSL_CERT_FILE": ""], files: files).file == "/etc/ssl/cert.pem")
        // As for OpenSSL, one does not replace the other.
        let one = self.find(["SSL_CERT_FILE": "/ca.pem"], files: files, directories: directories)
        #expect(one.file == "/ca.pem" && one.directories == ["/etc/ssl/certs"])
    }

    @Test("A variable that names nothing usable is an error that names it")
    func unusable() {
        let file = self.find(["SSL_CERT_FILE": "/none.pem"], files: ["/etc/ssl/cert.pem"])
        #expect(file.problem?.message.contains("SSL_CERT_FILE names '/none.pem'") == true)
        let directory = self.find(["SSL_CERT_DIR": "/none"], files: ["/etc/ssl/cert.pem"])
        #expect(directory.problem?.message.contains("SSL_CERT_DIR") == true)
        #expect(self.find(["SSL_CERT_FILE": "/etc"], directories: ["/etc"]).problem != nil)
    }

    @Test("A machine without any is recognized, also if it has the empty directory")
    func none() {
        #expect(self.find().isEmpty)
        #expect(self.find(directories: ["/etc/ssl/certs"]).isEmpty)
        #expect(!self.find(directories: ["/etc/ssl/certs"], hashed: ["/etc/ssl/certs"]).isEmpty)
        let error = TransportError.noAuthorities
        #expect(error.remedy.contains("ca-certificates") && error.setting == .trust)
        #expect(TransferFailure(error).isRetryable == false)
    }

    @Test("The names of a directory's files are hashes")
    func names() {
        for name in ["0a1b2c3d.0", "ffffffff.12"] { #expect(SystemAuthorities.isHashedName(name)) }
        for name in ["0a1b2c3d", "0a1b2c3d.", "0a1b2c3d.r0", "0A1B2C3D.0", "ca.pem", "java"] {
            #expect(!SystemAuthorities.isHashedName(name))
        }
    }
}
