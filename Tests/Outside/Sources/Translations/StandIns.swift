// SPDX-License-Identifier: Apache-2.0
import Foundation

#if !MARTLET
import FoundationNetworking

// What the translations use and Foundation does not have on Linux. A background session is an ordinary one here.
extension URLSessionConfiguration {
    static func background(withIdentifier identifier: String) -> URLSessionConfiguration { .default }
}
#endif

/// The words of the command line.
enum Words {
    /// The absolute path of this program.
    static var program: String { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path }
}
