internal import ArgumentParser

/// The program `martletd`.
public enum DaemonProgram {
    /// Runs the process's command line, and returns when the daemon has stopped.
    public static func main() async { await DaemonCommand.main() }
}
