// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Names of files that Martlet keeps next to a download")
struct ReservedNameTests {
    @Test(
        "an untrusted name with a reserved suffix gets another one",
        arguments: [
            "victim.iso.part", "victim.iso.part.journal", "victim.iso.PART", "victim.iso.Part.JOURNAL", "x.martlet-new",
            "x.martlet-bad", "x.MARTLET-bad", "x.martlet-bad.1", "x.martlet-bad.999",
        ]
    )
    func replaced(name: String) throws {
        #expect(FileName.sanitize(name) == name + ".download")
        #expect(FileName.sanitize("../" + name) == name + ".download")
        #expect(
            FileName.choose(user: nil, disposition: "attachment; filename=\"\(name)\"", url: try HTTPURL("http://a/x"))
                == name + ".download"
        )
        #expect(
            FileName.choose(user: nil, disposition: nil, url: try HTTPURL("http://a/" + name)) == name + ".download"
        )
        #expect(FileName.choose(byFinal: try HTTPURL("http://a/" + name)) == name + ".download")
        #expect(ReservedName.replaced(by: name + ".download").map(String.init) == name)
        // A replacement is not replaced again.
        #expect(FileName.sanitize(name + ".download") == name + ".download")
    }

    @Test(
        "other names stay",
        arguments: [
            "a.txt", "system.journal", "part", "x.parts", "a.part1", "x.download", "martlet-bad", "9", "x.9", "t",
        ]
    )
    func others(name: String) {
        #expect(FileName.sanitize(name) == name)
        #expect(ReservedName.replaced(by: name) == nil)
    }

    @Test("a name given by the user stays")
    func user() throws {
        let url = try HTTPURL("http://a/x")
        #expect(FileName.choose(user: "video.mp4.part", disposition: nil, url: url) == "video.mp4.part")
    }

    @Test("a long name with a reserved suffix still fits")
    func long() throws {
        let name = try #require(FileName.sanitize(String(repeating: "a", count: 300) + ".part"))
        #expect(name.utf8.count <= FileName.longest)
        #expect(!ReservedName.isReserved(name[...]))
    }

    @Test("a name, its partial file and its journal are taken together")
    func registry() {
        var names = NameRegistry()
        func target(_ name: String) -> FileTarget { FileTarget(directory: "d", name: name) }
        func take(_ name: String) -> Bool { names.take(target(name)) }
        #expect(take("x"))
        #expect(!take("x.part"))
        #expect(!names.isFree(target("x.part.journal")))
        #expect(names.isOwned(target("x.part.journal")))
        #expect(!names.isOwned(target("x")))
        #expect(take("y.part"))
        #expect(!take("y"))
        #expect(take("z.part.journal"))
        #expect(!take("z"))
        // The partial file of `z.part` would be `z.part.part`.
        #expect(take("z.part"))
        names.release(target("z.part"))
        names.release(target("x"))
        #expect(take("x.part"))
        names.release(target("y.part"))
        #expect(take("y"))
        #expect(take(".part"))
        // One path is one name, however it is divided.
        #expect(!names.isFree(FileTarget(directory: "", name: "d/y")))
        #expect(!names.isFree(FileTarget(directory: ".", name: "d/y")))
        #expect(!names.isFree(FileTarget(directory: "d/", name: "y")))
        #expect(names.isFree(FileTarget(directory: "", name: "dy")))
    }
}
