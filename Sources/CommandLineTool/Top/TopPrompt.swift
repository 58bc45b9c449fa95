// SPDX-License-Identifier: Apache-2.0
import Control

/// A question in the status line, or a text that is being entered there.
struct TopPrompt: Equatable {
    /// The subject of a question.
    enum Purpose: Equatable {
        case search
        /// The new first URL of a transfer, and its other URLs.
        case url(GID, others: [String], retries: Bool)
        case rate
        case concurrent
        case host
        case transferRate([GID])
        /// Whether to remove the first and to forget the second, which have ended.
        case remove([GID], ended: [GID])
        case removeAll
        case forgetAll
    }

    /// The subject.
    var purpose: Purpose
    /// The question, or the label of the text.
    var label: String
    /// The text; `nil` for a question that a key answers.
    var editor: TopEditor?
    /// The keys, or what was wrong with the text.
    var note: String
    /// Whether the note is about an error.
    var isError = false
}
