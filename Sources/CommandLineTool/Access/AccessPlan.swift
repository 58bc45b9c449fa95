// SPDX-License-Identifier: Apache-2.0

/// The credentials and cookies of a run, as given: the files are not read yet, and nothing was asked for.
struct AccessPlan: Equatable {
    /// A user name and a password.
    struct Login: Equatable {
        /// The user name.
        var name: String
        /// The password, or `nil` to ask for it.
        var password: String?
    }

    /// The user name for the origins of the URLs, or `nil`.
    var login: Login?
    /// The path of a netrc file, or `nil`.
    var netrcPath: String?
    /// The path of a file with a token, or `nil`.
    var bearerFile: String?
    /// Whether passwords are used for Digest only.
    var usesDigestOnly = false
    /// The path of a file with cookies, or `nil`.
    var loadCookies: String?
    /// The path of the file to which cookies are written, or `nil`.
    var cookieJar: String?
    /// Whether the cookies of responses are used for other requests.
    var keepsCookies = true
    /// The path of the client's certificate, or `nil`.
    var certificate: String?
    /// The path of its key, or `nil` if that is in the same file.
    var key: String?
}
