// SPDX-License-Identifier: Apache-2.0
package import Control
package import TransferCore
package import TransferEngine

/// aria2's options in a run without a daemon: of an input file's entry, or of `aria2c`.
extension TransferOptions {
    /// Applies the options that are set to those of a download.
    ///
    /// The rules for existing files and running downloads, the connections, rates, retries and timeouts, and the priority.
    ///
    /// - Parameter options: The options to change.
    /// - Throws: `badParameter` that names the option.
    package func apply(to options: inout DownloadOptions) throws(ControlError) {
        let reader = OptionReader(options: self)
        if self[.ifExists] != nil || self[.allowOverwrite] != nil || self[.autoFileRenaming] != nil {
            options.ifExists = try RequestPlan.rule(reader)
        }
        if let text = self[.ifRunning], !text.isEmpty {
            guard let rule = IfRunningRule(rawValue: text) else {
                throw reader.wrong(.ifRunning, "wait, fail or rename")
            }
            options.ifRunning = rule
        }
        try RequestPlan.readLimits(reader, &options)
        if self[.priority] != nil {
            let priority = try RequestPlan.priority(self)
            options.priority = priority > 0 ? .high : priority < 0 ? .low : .normal
        }
    }

    /// The proxies that the options name, or `nil` if they name none.
    ///
    /// - Throws: `badParameter` that names the option.
    package func proxySettings() throws(ControlError) -> ProxySettings? { try RequestPlan.proxy(self) }
}
