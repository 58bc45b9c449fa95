// SPDX-License-Identifier: Apache-2.0
import Foundation
import MartletURLSession
import Testing
import URLSessionBehaviours

/// The behaviours that are counted for Foundation's `URLSession`, with Martlet's.
///
/// One after another, because they share Foundation's storages. `Scripts/check-urlsession` runs all of them, also those that
/// need a daemon or a process of their own.
@Suite("Behaviours of a URLSession", .serialized, .timeLimit(.minutes(5)))
struct BehaviourTests {
    /// Behaviours that Martlet does not have, or that need the script.
    private static let excluded: Set<String> = [
        "http09", "redirect303", "redirect305To308", "redirectUnanswered",
        "backgroundDownload", "earliestBeginDate", "backgroundSessionFoundAgain", "delayedTaskFoundAgain",
    ]

    @Test(arguments: Behaviour.all.filter { !Self.excluded.contains($0.name) })
    func behaves(_ behaviour: Behaviour) async throws {
        for cookie in HTTPCookieStorage.shared.cookies ?? [] { HTTPCookieStorage.shared.deleteCookie(cookie) }
        try await behaviour.run()
    }
}
