// SPDX-License-Identifier: Apache-2.0
import Martlet

// snippet: retrier
/// Waits longer and longer for a busy server, for 20 attempts, and gives up at once if it is in maintenance.
struct PatientRetrier: RequestRetrier {
    func decision(after attempt: FailedAttempt) -> FailedAttempt.Decision {
        switch attempt.error.status {
        case 429 where attempt.number < 20: .retry(after: .seconds(attempt.number * 30))
        case 503: .fail
        default: .automatic
        }
    }
}
// end

func retryingPatiently() throws -> TransferSession {
    // snippet: retrier-session
    var configuration = SessionConfiguration.default
    configuration.retrier = PatientRetrier()
    let session = try TransferSession(configuration: configuration)
    // end
    return session
}
