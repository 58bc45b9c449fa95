// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Blocking {
    static func script() {
        // snippet: blocking-script
        do {
            let session = TransferSession.shared
            let list = try session.dataBlocking(from: "https://example.org/list.txt")
            for (number, line) in list.text.split(separator: "\n").enumerated() {
                let file = try session.downloadBlocking(
                    from: String(line),
                    to: .directory("images"),
                    referer: try HTTPURL("https://example.org/"),
                    headers: ["Accept": "image/*"]
                )
                print(number + 1, file.path)
            }
        } catch let error as TransferError {
            print(error.status.map { "\($0) \(error.reasonPhrase ?? "")" } ?? "\(error.code)", error.bodyText)
        } catch {
            print(error)
        }
        // end
    }

    static func patience() throws(TransferError) {
        // snippet: blocking-timeout
        do {
            let list = try TransferSession.shared.dataBlocking(from: "https://example.org/", timeout: .seconds(5))
            print(list.text)
        } catch  where error.code == .timeout {
            print("no response in 5 seconds")
        }
        // end
    }

    static func mistake() async {
        // snippet: blocking-mistake
        Task.detached {
            do throws(TransferError) {
                // On a thread of Swift's pool: refused at once.
                _ = try TransferSession.shared.dataBlocking(from: "https://example.org/")
            } catch {
                print(error.code == .wouldDeadlock)
            }
        }
        // end
    }
}
