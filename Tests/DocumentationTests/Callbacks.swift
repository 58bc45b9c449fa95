// SPDX-License-Identifier: Apache-2.0
import Martlet

enum Callbacks {
    static func handler() throws {
        // snippet: handlers-data
        try TransferSession.shared.data(from: "https://example.org/list.json") { result in
            switch result {
            case .success(let answer): print(answer.text)
            case .failure(let error): print(error.status ?? 0, error)
            }
        }
        // end
    }

    static func file() throws {
        // snippet: handlers-file
        let task = try TransferSession.shared.download(from: "https://example.org/a.iso") { result in
            do {
                try result.get().move(to: "a.iso")
            } catch {
                print("no file: \(error)")
            }
        }
        print(task.state)
        // end
    }

    static func several() throws {
        // snippet: handlers-several
        var configuration = SessionConfiguration.default
        configuration.callbackContext = .main
        let session = try TransferSession(configuration: configuration)
        let task = try session.dataTask(for: "https://example.org/list.json")
        task.onCompletion { _ in print("called on the main queue") }
        task.onCompletion { _ in print("then this one") }
        task.resume()
        // end
    }
}
