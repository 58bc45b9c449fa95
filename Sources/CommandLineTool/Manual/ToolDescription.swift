// SPDX-License-Identifier: Apache-2.0
/// The part of ArgumentParser's tool description that the manual page shows.
struct ToolDescription: Decodable {
    /// The root command.
    var command: Command

    struct Command: Decodable {
        var commandName: String
        var abstract: String?
        var discussion: String?
        var shouldDisplay: Bool?
        var subcommands: [Command]?
        var arguments: [Argument]?
    }

    /// An argument of a command.
    struct Argument: Decodable {
        var kind: String
        var shouldDisplay: Bool
        var sectionTitle: String?
        var isRepeating: Bool
        var isOptional: Bool
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var allValues: [String]?
        var abstract: String?
        var discussion: String?
    }

    /// A name of an argument.
    struct Name: Decodable {
        var kind: String
        var name: String
    }
}
