/// Limits how often credentials are sent again after a refusal (401).
package enum ChallengeRule {
    /// The maximum number of refusals in a row.
    package static var maximum: Int { 8 }
}
