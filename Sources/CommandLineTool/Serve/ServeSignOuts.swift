// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Receiver

/// The place of the sign-outs of all receivers of a user.
enum ServeSignOuts {
    /// The file in the state directory.
    ///
    /// - Returns: The path, or `nil` if there is nothing to store or nothing can be stored.
    static func place(
        _ configuration: ReceiverConfiguration,
        environment: (String) -> String? = StateDirectory.environment
    ) -> (path: String?, warnings: [String]) {
        guard !configuration.credentials.isEmpty else { return (nil, []) }
        do throws(ControlError) {
            let state = try StateDirectory(nil, environment: environment)
            try state.make()
            guard access(state.path, W_OK | X_OK) == 0 else {
                let reason = String(cString: strerror(errno))
                throw ControlError(.storage, "cannot write in '\(state.path)': \(reason)")
            }
            return (state.path + "/serve.sign-outs", [])
        } catch {
            return (nil, ["sign-outs are not stored and end with this run: \(DisplayText.clean(error.description))"])
        }
    }
}
