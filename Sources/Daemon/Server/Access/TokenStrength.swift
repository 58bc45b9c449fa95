// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// Estimates whether a token can be guessed by requests.
enum TokenStrength {
    /// The number of bits above which guesses are hopeless: at 100,000 a second, half of 2^64 take three million years.
    private static let sufficientBits = 64.0

    /// Returns whether a token can be guessed: its length times the logarithm of the number of its different characters
    /// is less than 64 bits.
    ///
    /// The estimate is an upper limit: it does not recognise words.
    static func isGuessable(_ token: String) -> Bool {
        let different = Set(token.utf8).count
        return different == 0 || Double(token.utf8.count) * log2(Double(different)) < self.sufficientBits
    }
}
