/// The version of Martlet, as `martlet --version` and the User-Agent field tell it.
package enum MartletVersion {
    /// The version, by semver.org.
    package static let text = "0.1.0"
}
