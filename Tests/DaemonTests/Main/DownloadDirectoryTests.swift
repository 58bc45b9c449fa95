// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Daemon

@Suite("The default directory for downloads")
struct DownloadDirectoryTests {
    private static func find(_ environment: [String: String], _ files: [String: String] = [:]) -> String {
        DownloadDirectory.find(state: "/state", environment: { environment[$0] }, read: { files[$0] })
    }

    @Test("the environment comes first, then the user's own directory, then Downloads; never the home directory")
    func order() {
        let home = ["HOME": "/home/me"]
        let file = "/home/me/.config/user-dirs.dirs"
        let text = "# comment\nXDG_DESKTOP_DIR=\"$HOME/Desktop\"\n XDG_DOWNLOAD_DIR=\"$HOME/Téléchargements/\"\n"
        #expect(Self.find(home) == "/home/me/Downloads")
        #expect(Self.find(home, [file: text]) == "/home/me/Téléchargements")
        #expect(Self.find(["HOME": "/home/me", "XDG_DOWNLOAD_DIR": "/data/in/"], [file: text]) == "/data/in")
        #expect(
            Self.find(
                ["HOME": "/home/me/", "XDG_CONFIG_HOME": "/etc/me"],
                ["/etc/me/user-dirs.dirs": "XDG_DOWNLOAD_DIR=\"/data\""]
            ) == "/data"
        )
    }

    @Test(
        "a value that is the home directory, relative or malformed counts as none",
        arguments: [
            "XDG_DOWNLOAD_DIR=\"$HOME/\"", "XDG_DOWNLOAD_DIR=\"/home/me\"", "XDG_DOWNLOAD_DIR=\"in\"",
            "XDG_DOWNLOAD_DIR=/data", "XDG_DOWNLOAD_DIR=\"/data", "XDG_DOWNLOAD_DIR=\"/\"", "XDG_DOWNLOAD_DIR=", "",
        ]
    )
    func unusable(text: String) {
        let files = ["/home/me/.config/user-dirs.dirs": text]
        #expect(Self.find(["HOME": "/home/me"], files) == "/home/me/Downloads")
    }

    @Test("without a home directory downloads are in the state directory")
    func noHome() {
        for home in [[:], ["HOME": ""], ["HOME": "relative"], ["HOME": "/"]] {
            #expect(Self.find(home) == "/state/downloads")
        }
        #expect(Self.find(["HOME": "/home/me", "XDG_DOWNLOAD_DIR": "/home/me/"]) == "/home/me/Downloads")
    }
}
