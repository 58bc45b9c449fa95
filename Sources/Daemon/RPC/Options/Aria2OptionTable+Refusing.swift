// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

extension Aria2OptionTable {
    /// Rejects unsupported options of a transfer that would change its result.
    ///
    /// - Throws: `badParameter` that names the option.
    static func check(_ json: JSON) throws(ControlError) { try self.refuse(self.refused, json) }

    /// Rejects unsupported global options in the same way.
    ///
    /// - Throws: `badParameter` that names the option.
    static func checkGlobal(_ json: JSON) throws(ControlError) { try self.refuse(self.refusedGlobally, json) }

    private static func refuse(_ names: [(name: String, remedy: String)], _ json: JSON) throws(ControlError) {
        for (name, remedy) in names {
            let text: String? =
                switch json[name] {
                case .string(let text)?: text
                case .bool(let flag)?: "\(flag)"
                default: nil
                }
            // Clients send the options of aria2.getOption back.
            guard let text, !text.isEmpty, text != "false" else { continue }
            throw ControlError(
                .badParameter,
                "We encountered a problem while processing the option '--\(name)'. "
                    + "This daemon does not support it: \(remedy)",
                remedy: remedy
            )
        }
    }
}
