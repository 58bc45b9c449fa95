// SPDX-License-Identifier: Apache-2.0
/// Additional sources of authorities and certificates.
extension TLSOptions.Roots {
    /// The authorities in a PEM file, and no others; the same as `pemFile`.
    public static func file(_ path: String) -> TLSOptions.Roots { .pemFile(path) }

    /// The authorities in a PEM text, and no others.
    public static func pem(_ text: String) -> TLSOptions.Roots { .pem(Array(text.utf8)) }

    /// The given authorities, and no others.
    public static func only(_ pem: TLSOptions.PEM) -> TLSOptions.Roots {
        switch pem {
        case .file(let path): .pemFile(path)
        case .bytes(let bytes): .pem(bytes)
        }
    }
}

extension TLSOptions.PEM {
    /// The PEM text itself.
    public static func pem(_ text: String) -> TLSOptions.PEM { .bytes(Array(text.utf8)) }
}
