// SPDX-License-Identifier: Apache-2.0
extension Unicode.Scalar {
    /// Whether it can be shown in a line of text from outside: not a control, format or line-separating character.
    ///
    /// Otherwise a name could move a terminal's cursor, or hide or reverse the text around it.
    package var isDisplayable: Bool {
        switch self.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        // The zero-width joiner combines emoji; other format characters hide or reverse text.
        case .format: self.value == 0x200D
        default: true
        }
    }
}
