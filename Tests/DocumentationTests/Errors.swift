// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletFoundation

enum Errors {
    static func handle() async {
        // snippet: errors-handle
        do {
            let answer = try await TransferSession.shared.data(from: "https://example.org/list.json")
            print(answer.text)
        } catch let error as TransferError {
            switch error.code {
            case .httpStatus:
                print(error.status ?? 0, error.reasonPhrase ?? "", error.bodyText)
            case .network, .nameResolution, .timeout:
                print("the network:", error.message)
            default:
                print(error)
            }
        } catch {
            print("the surrounding task was cancelled")
        }
        // end
    }

    static func show(_ error: TransferError) {
        // snippet: errors-localized
        print(error.localizedDescription)  // The server could not be found.
        print(error.recoverySuggestion ?? "")  // Check the network connection, then try again.
        // end
    }
}
