// SPDX-License-Identifier: Apache-2.0
/// The sizes, rates and limits of one run of `martlet demo`.
struct DemoPlan: Sendable, Equatable {
    /// The size of the large file in bytes.
    var size: Int64 = 48 << 20
    /// The rate of its downloads in bytes per second.
    var rate: Int64 = 10 << 20
    /// The maximum time for each observation, such as the end of a download.
    var limit: Duration = .seconds(120)

    /// The minimum of ``size``: files of the list of 256 KiB or less would have no partial file.
    static let smallestSize: Int64 = 4 << 20

    /// The name of the large file on the server.
    static let large = "large.bin"

    /// The names of the files in the list.
    static let names = (1...5).map { "file-\($0).bin" }

    /// The size of each file in the list.
    var listedSize: Int64 { max(1, self.size / 12) }

    /// The size of all files in the list.
    var listSize: Int64 { self.listedSize * Int64(Self.names.count) }

    /// The number of bytes that the directory needs: two versions of the large file on the server, the downloaded one, and
    /// a few MiB for logs and the daemon's queue.
    var space: Int64 { min(self.size, .max / 4) * 3 + (8 << 20) }

    /// The number of bytes of a download after which it is killed.
    static func mark(of size: Int64) -> Int64 { max(1, size * 2 / 5) }

    /// The rate for the given attempt at a step: each attempt takes twice as long as the one before.
    static func rate(_ rate: Int64, attempt: Int) -> Int64 { max(1, rate >> Int64(attempt)) }

    /// The number of attempts at a step in which the machine was too slow to observe what was to be judged.
    static let attempts = 3

    /// The arguments of the download of a file.
    ///
    /// One connection, so that the size of the partial file is the number of bytes received.
    static func get(_ url: String, rate: Int64) -> [String] {
        ["get", "-x", "1", "--limit-rate", self.size(rate), url]
    }

    /// The arguments that add a list, with a rate for each file.
    static func add(_ list: String, rate: Int64) -> [String] {
        ["add", "--no-start", "-x", "1", "--limit-rate", self.size(rate), "-i", list]
    }

    /// The rate of each file in the list: half of the large file's, divided among them.
    var listedRate: Int64 { max(1, self.rate / Int64(2 * Self.names.count)) }

    /// A size as the options accept it: `10M`, `512K`, `1000`.
    static func size(_ count: Int64) -> String {
        for (shift, suffix) in [(20, "M"), (10, "K")] where count > 0 && count % (1 << shift) == 0 {
            return "\(count >> Int64(shift))\(suffix)"
        }
        return "\(count)"
    }
}
