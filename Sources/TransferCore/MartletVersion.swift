/// The version of Martlet, as `martlet --version` and the User-Agent field tell it.
public enum MartletVersion {
    /// The version, by semver.org.
    public static let text = "0.1.0"
}
