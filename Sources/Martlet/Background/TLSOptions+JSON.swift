// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

extension TLSOptions {
    /// The options as an object; files are given by absolute path, so that keys are not copied.
    var json: JSON {
        let roots: JSON =
            switch self.roots {
            case .system: .null
            case .pemFile(let path): ["only": TLSOptions.PEM.file(path).json]
            case .pem(let bytes): ["only": TLSOptions.PEM.bytes(bytes).json]
            case .systemAnd(let pem): ["more": pem.json]
            }
        let certificate: JSON =
            self.clientCertificate.map { certificate in
                [
                    "chain": certificate.chain.json, "key": certificate.key.json,
                    "passphrase": .optional(certificate.passphrase),
                ]
            } ?? .null
        return [
            "roots": roots, "verification": .string(self.verification.name), "clientCertificate": certificate,
            "minimumVersion": .string(self.minimumVersion == .tls13 ? "1.3" : "1.2"),
            "pins": .array(
                self.pins.map { ["sha256": .string(Base64.encode($0.sha256)), "host": .optional($0.host)] }
            ),
        ]
    }

    init(json: JSON) throws(TransferError) {
        let fields = ConfigurationFields(json)
        self.init()
        if let only = json["roots"]?["only"] {
            switch try PEM(json: only) {
            case .file(let path): self.roots = .pemFile(path)
            case .bytes(let bytes): self.roots = .pem(bytes)
            }
        } else if let more = json["roots"]?["more"] {
            self.roots = .systemAnd(try PEM(json: more))
        }
        if let name = try fields.string("verification") {
            guard let verification = [Verification.full, .noHostname, .pinned, .none].first(where: { $0.name == name })
            else {
                throw fields.wrong("verification")
            }
            self.verification = verification
        }
        if let certificate = json["clientCertificate"], !certificate.isNull {
            self.clientCertificate = ClientCertificate(
                chain: try PEM(json: certificate["chain"] ?? .null),
                key: try PEM(json: certificate["key"] ?? .null),
                passphrase: certificate["passphrase"]?.string
            )
        }
        switch try fields.string("minimumVersion") {
        case nil, "1.2": self.minimumVersion = .tls12
        case "1.3": self.minimumVersion = .tls13
        default: throw fields.wrong("minimumVersion")
        }
        for pin in try fields.array("pins") ?? [] {
            do throws(SyntaxError) {
                self.pins.append(try Pin(pin["sha256"]?.string ?? "", host: pin["host"]?.string))
            } catch {
                throw TransferError(.badConfiguration, error.message)
            }
        }
    }
}

extension TLSOptions.Verification {
    fileprivate var name: String {
        switch self {
        case .full: "full"
        case .noHostname: "noHostname"
        case .pinned: "pinned"
        case .none: "none"
        }
    }
}

extension TLSOptions.PEM {
    fileprivate var json: JSON {
        switch self {
        case .file(let path): ["file": .string(AbsolutePath.of(path))]
        case .bytes(let bytes): ["pem": .string(String(decoding: bytes, as: UTF8.self))]
        }
    }

    fileprivate init(json: JSON) throws(TransferError) {
        if let path = json["file"]?.string {
            self = .file(path)
        } else if let text = json["pem"]?.string {
            self = .bytes(Array(text.utf8))
        } else {
            throw TransferError(.badConfiguration, "a certificate or key of the configuration has neither file nor pem")
        }
    }
}
