// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Logging
internal import Martlet
internal import QueueStore
internal import TransferCore
internal import TransferEngine

/// The cookies of sessions.
extension DaemonCore {
    /// Stores the cookies of a response with the session's configuration, and notifies the program.
    ///
    /// - Parameters:
    ///   - values: The response's `Set-Cookie` values, which the session has accepted.
    ///   - url: The response's URL.
    ///   - session: The session.
    ///   - id: The transfer.
    func receivedCookies(_ values: [String], from url: HTTPURL, _ session: String, _ id: GID) {
        guard let transfer = self.lanes[session]?.live[id]?.transfer, var state = self.sessions[session],
            var configuration = (try? JSON(parsing: state.text)).flatMap({ try? SessionConfiguration(json: $0) })
        else { return }
        configuration.cookies = state.cookies
        let text = configuration.json.text
        if text != state.text {
            state.text = text
            self.sessions[session] = state
            self.later(
                { (writer) throws(QueueStoreError) in try writer.saveSession(session, configuration: text) },
                done: { core, result in
                    guard case .failure(let error) = result, error.code != .closed else { return }
                    core.configuration.logger.warning("cookies of a session were not stored: \(error.message)")
                }
            )
        }
        let event: JSON = [
            "kind": "cookies", "id": .string(id.description), "url": .string(url.withoutUserInfo),
            "values": .array(values.map { .string($0) }),
        ]
        self.pending.items.append(.init(session: session, id: id, event: event, before: transfer))
        self.machine.recorded()
    }
}

extension Lane {
    /// Reports the cookies of a session's responses, so that they outlive this lane.
    var cookieReport: (@Sendable ([String], RequestFacts) -> Void)? {
        guard let session = self.session else { return nil }
        return { [outbox = self.outbox] values, request in
            guard let tag = request.userInfo as? RunTag else { return }
            outbox.put(.answer { $0.receivedCookies(values, from: request.url, session, tag.id) })
        }
    }
}
