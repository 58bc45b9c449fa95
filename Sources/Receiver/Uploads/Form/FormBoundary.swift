// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Parses the boundary of a form.
///
/// - Source: RFC 2046 §5.1.1, RFC 7578 §4.1.
enum FormBoundary {
    /// Returns the boundary, or `nil` if the media type is not a form's.
    ///
    /// - Throws: ``UploadRefusal`` with 400 if a form has no valid boundary.
    static func of(_ type: String?) throws(UploadRefusal) -> [UInt8]? {
        guard let type, type.prefix(19).lowercased() == "multipart/form-data" else { return nil }
        for parameter in type.split(separator: ";").dropFirst() {
            guard let equals = parameter.firstIndex(of: "=") else { continue }
            let name = parameter[..<equals].filter { $0 != " " && $0 != "\t" }.lowercased()
            guard name == "boundary" else { continue }
            var value = Array(parameter[parameter.index(after: equals)...].utf8)[...]
            while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
            while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
            if value.count >= 2, value.first == 0x22, value.last == 0x22 { value = value.dropFirst().dropLast() }
            guard (1...70).contains(value.count), value.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 }) else {
                break
            }
            return Array(value)
        }
        throw UploadRefusal(400, "the form has no boundary")
    }
}
