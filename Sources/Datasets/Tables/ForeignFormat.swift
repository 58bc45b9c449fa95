// SPDX-License-Identifier: Apache-2.0
/// A format of tables or of compression that `get --manifest` does not read.
package enum ForeignFormat: CaseIterable, Sendable {
    case parquet
    /// Arrow's file format, also called Feather.
    case arrow
    case zstandard
    case xz
    case bzip2
    /// A zip archive.
    case zip

    /// The length of the longest signature, in bytes.
    static let length = 6

    /// Recognizes a format by the first bytes of a file.
    init?(beginning bytes: [UInt8]) {
        let found = Self.allCases.first { bytes.starts(with: $0.signature) }
        guard let found else { return nil }
        self = found
    }

    /// Recognizes a format by the name of a file.
    package init?(fileName: String) {
        let name = fileName.lowercased()
        guard let found = Self.allCases.first(where: { format in format.endings.contains { name.hasSuffix($0) } })
        else { return nil }
        self = found
    }

    private var signature: [UInt8] {
        switch self {
        case .parquet: Array("PAR1".utf8)
        case .arrow: Array("ARROW1".utf8)
        case .zstandard: [0x28, 0xB5, 0x2F, 0xFD]
        case .xz: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]
        case .bzip2: Array("BZh".utf8)
        case .zip: [0x50, 0x4B, 0x03, 0x04]
        }
    }

    private var endings: [String] {
        switch self {
        case .parquet: [".parquet"]
        case .arrow: [".arrow", ".feather"]
        case .zstandard: [".zst"]
        case .xz: [".xz"]
        case .bzip2: [".bz2"]
        case .zip: [".zip"]
        }
    }

    /// The file's kind, and the program to use instead.
    package var advice: String {
        switch self {
        case .parquet:
            "it is a Parquet file, which the Python package reads: martlet.fetch(\"FILE.parquet\", shards=\"DIR\") "
                + "(pip install 'martlet[parquet]')"
        case .arrow:
            "it is an Arrow file; convert it to Parquet for the Python package, martlet.fetch(\"FILE.parquet\", "
                + "shards=\"DIR\"), or to CSV"
        case .zstandard: self.decompressed("Zstandard", "zstd -dc")
        case .xz: self.decompressed("xz", "xz -dc")
        case .bzip2: self.decompressed("bzip2", "bzip2 -dc")
        case .zip: self.decompressed("zip", "unzip -p")
        }
    }

    private func decompressed(_ name: String, _ command: String) -> String {
        "it is compressed with \(name); use: \(command) FILE | martlet get --manifest - --manifest-format FORMAT"
    }
}
