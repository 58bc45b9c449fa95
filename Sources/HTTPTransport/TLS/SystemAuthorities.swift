// SPDX-License-Identifier: Apache-2.0
internal import NIOSSL
internal import Platform
internal import TransferCore

/// The files with this machine's trusted authorities, as OpenSSL and curl find them.
///
/// `SSL_CERT_FILE` replaces the file of all authorities, and `SSL_CERT_DIR`, a list separated by colons, the directories
/// in which an authority's file is named by the hash of its subject (openssl-rehash(1)). Setting one of them does not
/// replace the other.
struct SystemAuthorities: Sendable, Equatable {
    /// The functions that look at the machine.
    struct Machine {
        var variable: (String) -> String?
        var kind: (String) -> Kind?
        var hasHashedNames: (String) -> Bool
    }

    /// The kind of a file.
    enum Kind: Equatable {
        case file
        case directory
    }

    /// The file of all authorities, if it exists.
    private(set) var file: String?
    /// The directories, only those that exist.
    private(set) var directories: [String] = []
    /// Whether they are those that NIOSSL loads itself, which is faster.
    private(set) var isUsual = false
    /// Whether none of them can have an authority.
    private(set) var isEmpty = true
    /// The variable and the path that cannot be used.
    private(set) var unusable: (variable: String, path: String)?

    static func == (left: Self, right: Self) -> Bool {
        left.file == right.file && left.directories == right.directories && left.isEmpty == right.isEmpty
            && left.unusable?.variable == right.unusable?.variable && left.unusable?.path == right.unusable?.path
    }

    /// The files of distributions: Debian, Arch and Alpine; Fedora; openSUSE; Alpine and BSD.
    private static let files = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]
    /// The directory of Debian, Arch, Alpine and openSUSE.
    private static let directories = ["/etc/ssl/certs"]

    /// Those of this machine.
    static var current: SystemAuthorities { SystemAuthorities(.current) }

    /// Those that a variable names, or `nil`: other systems than Linux have no such files, but a store.
    static var chosen: SystemAuthorities? {
        let isChosen = ["SSL_CERT_FILE", "SSL_CERT_DIR"].contains { !(Machine.current.variable($0) ?? "").isEmpty }
        return isChosen ? self.current : nil
    }

    /// Finds the files.
    init(_ machine: Machine) {
        let named = machine.variable("SSL_CERT_FILE").flatMap { $0.isEmpty ? nil : $0 }
        if let named, machine.kind(named) != .file {
            self.unusable = ("SSL_CERT_FILE", named)
            return
        }
        self.file = named ?? Self.files.first { machine.kind($0) == .file }
        self.isEmpty = self.file == nil
        let list = machine.variable("SSL_CERT_DIR").flatMap { $0.isEmpty ? nil : $0 }
        let directories = list.map { $0.split(separator: ":").map(String.init) } ?? Self.directories
        for directory in directories where machine.kind(directory) == .directory {
            self.directories.append(directory)
            if self.isEmpty, machine.hasHashedNames(directory) { self.isEmpty = false }
        }
        // NIOSSL knows the first two.
        self.isUsual =
            self.file == Self.files.prefix(2).first { machine.kind($0) == .file }
            && (list == nil || self.directories == Self.directories)
        if let list, named == nil, self.directories.isEmpty {
            self.unusable = ("SSL_CERT_DIR", list)
        }
    }

    /// The error of a variable that names nothing that can be used.
    var problem: TransportError? { self.unusable.map { Self.problem($0.variable, $0.path) } }

    private static func problem(_ variable: String, _ path: String) -> TransportError {
        TransportError(
            .certificateUnknownAuthority,
            "no certificate can be verified: \(variable) names '\(path)', which is not a readable "
                + (variable == "SSL_CERT_FILE" ? "file of certificates" : "directory of certificates"),
            remedy: "correct \(variable) or unset it"
        )
    }
}

extension SystemAuthorities.Machine {
    /// This machine.
    static var current: Self {
        Self(
            variable: { getenv($0).map { String(cString: $0) } },
            kind: { path in
                var status = stat()
                guard stat(path, &status) == 0, access(path, R_OK) == 0 else { return nil }
                return status.st_mode & S_IFMT == S_IFDIR ? .directory : .file
            },
            hasHashedNames: { path in
                guard let names = DirectoryEntries(path: path) else { return false }
                while let name = names.next() { if SystemAuthorities.isHashedName(name) { return true } }
                return false
            }
        )
    }
}

extension SystemAuthorities {
    /// The certificates of the file, and of all directories but the first.
    ///
    /// - Throws: `TransportError` if the file has none.
    func certificates() throws(TransportError) -> [NIOSSLCertificate] {
        var certificates: [NIOSSLCertificate] = []
        if let file = self.file {
            do {
                certificates = try NIOSSLCertificate.fromPEMFile(file)
            } catch {
                throw Self.problem("SSL_CERT_FILE", file)
            }
        }
        for directory in self.directories.dropFirst() {
            guard let names = DirectoryEntries(path: directory) else { continue }
            while let name = names.next() {
                guard Self.isHashedName(name) else { continue }
                certificates += (try? NIOSSLCertificate.fromPEMFile("\(directory)/\(name)")) ?? []
            }
        }
        return certificates
    }

    /// Whether a name is that of an authority's file in a directory: eight hexadecimal digits, a dot and a number.
    static func isHashedName(_ name: String) -> Bool {
        let name = name.utf8
        let isHexadecimal = { (byte: UInt8) in (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66) }
        return name.count >= 10 && name.prefix(8).allSatisfy(isHexadecimal)
            && name.dropFirst(8).first == 0x2E && name.dropFirst(9).allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    }
}

extension TransportError {
    /// The error of a machine without any authority.
    static let noAuthorities = TransportError(
        .certificateUnknownAuthority,
        "no certificate can be verified: this machine has no certificates of authorities",
        remedy: "install the package ca-certificates",
        setting: .trust
    )
}
