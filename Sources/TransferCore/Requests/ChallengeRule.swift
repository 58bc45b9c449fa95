// SPDX-License-Identifier: Apache-2.0
/// Limits how often credentials are sent again after a refusal (401).
package enum ChallengeRule {
    /// The maximum number of consecutive refusals.
    package static var maximum: Int { 8 }
}
