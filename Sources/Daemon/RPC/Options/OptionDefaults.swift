// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// The default values of options, for methods that return all options.
enum OptionDefaults {
    /// The defaults of options of a transfer.
    private static let transfer = Self.defaults { $0 != .queue }

    /// The defaults of all options, also those of the queue.
    private static let all = Self.defaults { _ in true }

    /// The options that apply to the queue and not to one transfer.
    static let queueNames = QueueOption.names(.queue)

    private static func defaults(_ isIncluded: (QueueOption.Scope) -> Bool) -> TransferOptions {
        var options = TransferOptions()
        for name in OptionName.allCases {
            let option = QueueOption(name)
            if isIncluded(option.scope) { options[name] = option.standard }
        }
        return options
    }

    /// Returns all of aria2's options of a transfer, in aria2's form.
    static func aria2(of options: TransferOptions, global: TransferOptions, directory: String) -> JSON {
        self.json(of: options, global: global, directory: directory).adding(Aria2OptionTable.transfer)
    }

    /// Returns all of aria2's global options, in aria2's form.
    ///
    /// - Parameters:
    ///   - global: The global options that are set.
    ///   - directory: The directory of files.
    ///   - port: The port of the RPC, if it is known.
    /// - Returns: The options, sorted by name.
    static func aria2(global: TransferOptions, directory: String, port: Int?) -> JSON {
        let port = port.map { [(name: "rpc-listen-port", value: "\($0)")] } ?? []
        let table = Aria2OptionTable.transfer + Aria2OptionTable.global
        return self.json(global: global, directory: directory).adding(port).adding(table)
    }

    /// Merges a transfer's options over the global ones and the defaults; in aria2's form, header fields are lines.
    static func json(of options: TransferOptions, global: TransferOptions, directory: String) -> JSON {
        var all = self.transfer.merging(global).merging(options)
        for name in self.queueNames { all[name] = nil }
        // A client that sends them back would request the same identifier again.
        all[.gid] = nil
        all[.position] = nil
        all[.dir] = directory
        return self.texts(all)
    }

    /// Merges the global options over the defaults.
    static func json(global: TransferOptions, directory: String) -> JSON {
        var all = self.all.merging(global)
        all[.dir] = directory
        return self.texts(all)
    }

    private static func texts(_ options: TransferOptions) -> JSON {
        .object(
            OptionName.allCases.sorted { $0.rawValue < $1.rawValue }
                .compactMap { name in
                    guard let last = options[name] else { return nil }
                    let text = name.hasSeveral ? options[all: name].map { "\($0)\n" }.joined() : last
                    return JSON.Member(name.rawValue, .string(text))
                }
        )
    }
}

extension JSON {
    /// Returns an object with more members, sorted by name; existing members are kept.
    fileprivate func adding(_ more: [(name: String, value: String)]) -> JSON {
        var members = self.object ?? []
        var known = Set(members.map(\.name))
        for (name, value) in more where known.insert(name).inserted { members.append(Member(name, .string(value))) }
        return .object(members.sorted { $0.name < $1.name })
    }
}
