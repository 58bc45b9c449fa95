// SPDX-License-Identifier: Apache-2.0

/// All kinds of worlds, and which seed has which.
package enum Worlds {
    /// The kinds, with how many of twenty worlds are of each.
    package static let kinds: [(share: Int, world: any World.Type)] = [
        (12, DownloadWorld.self), (3, UploadWorld.self), (2, DatasetWorld.self), (2, StorageWorld.self),
        (1, DaemonWorld.self),
    ]

    package static func kind(ofSeed seed: UInt64) -> any World.Type {
        // Neighbouring seeds are of different kinds.
        var place = Int((seed &* 0x9E37_79B9_7F4A_7C15) >> 40) % self.kinds.reduce(0) { $0 + $1.share }
        for (share, world) in self.kinds {
            place -= share
            if place < 0 { return world }
        }
        return DownloadWorld.self
    }

    /// The kind of this name; `nil` if there is none.
    package static func kind(named name: String) -> (any World.Type)? {
        self.kinds.first { $0.world.kind == name }?.world
    }
}
