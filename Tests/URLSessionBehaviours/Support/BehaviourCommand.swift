// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The program `urlsession-behaviours`.
public enum BehaviourCommand {
    /// The time after which a case has failed.
    private static let limit = 15

    /// Runs the command of some arguments, and ends the process: with 0 if the case passed, 1 if it failed, 2 for
    /// unknown arguments.
    ///
    ///     --list                    Prints the names, the kinds of sources and the sources, separated by tabs.
    ///     --run NAME                Runs one case.
    ///
    /// - Parameter arguments: The arguments without the program's name.
    public static func run(_ arguments: [String]) async -> Never {
        switch (arguments.first, arguments.dropFirst().first) {
        case ("--list", nil):
            for behaviour in Behaviour.all {
                print("\(behaviour.name)\t\(behaviour.source.kind)\t\(behaviour.source.reference)")
            }
            self.exit(0)
        case ("--run", let name?):
            guard let behaviour = Behaviour.all.first(where: { $0.name == name }) else { break }
            DispatchQueue.global()
                .asyncAfter(deadline: .now() + .seconds(self.limit)) {
                    print("does not end within \(self.limit) seconds")
                    self.exit(1)
                }
            do {
                try await behaviour.run()
                self.exit(0)
            } catch {
                print(String(describing: error).split(separator: "\n").joined(separator: " "))
                self.exit(1)
            }
        #if !FOUNDATION_SESSION
        case ("--background-launch", let url?):
            try? await Behaviour.launchInBackground(url, arguments.dropFirst(2).first)
            self.exit(0)
        #endif
        default: break
        }
        print("usage: urlsession-behaviours --list | --run NAME")
        self.exit(2)
    }

    /// Ends the process without the destructors of sessions that are still open.
    private static func exit(_ code: Int32) -> Never {
        fflush(nil)
        _exit(code)
    }
}
