// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// The argument of `--notify`.
enum NotificationWords {
    /// Validates names separated by commas, or `none`, and returns them in a fixed order.
    static func parse(_ text: String) throws(BadValue) -> String {
        guard let events = Set<TransferNotification>(words: text) else {
            throw BadValue(
                "\"\(DisplayText.clean(text))\" is not a list of events; write some of finished,failed,done, or none"
            )
        }
        return events.words
    }
}
