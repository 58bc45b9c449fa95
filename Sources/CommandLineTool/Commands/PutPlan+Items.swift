// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// Creates uploads from the command line.
extension PutPlan {
    /// Parses the URL, the last argument.
    static func url(_ text: String, isAlone: Bool) throws(SyntaxError) -> HTTPURL {
        do throws(SyntaxError) {
            return try BareHost.url(text) { _ in false }
        } catch {
            throw SyntaxError(error.description + (isAlone ? "" : "; the last argument is the URL"))
        }
    }

    /// Validates the method.
    static func method(_ given: String?, isForm: Bool) throws(SyntaxError) -> String {
        guard let given else { return isForm ? "POST" : "PUT" }
        guard !given.isEmpty, given.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw SyntaxError("\"\(DisplayText.clean(given))\" is not a supported method; use PUT, POST or PATCH")
        }
        return given
    }

    /// Creates the uploads of the arguments before the URL, or of a form.
    ///
    /// - Parameters:
    ///   - files: The arguments before the URL.
    ///   - form: The fields of a form.
    ///   - list: The file that lists more files.
    ///   - url: The URL.
    ///   - method: The method.
    /// - Returns: The uploads, without those of the list.
    /// - Throws: ``SyntaxError`` with the problem and how to fix it.
    static func items(
        _ files: ArraySlice<String>,
        form: [String],
        list: String?,
        to url: HTTPURL,
        by method: String
    ) throws(SyntaxError) -> [Item] {
        guard form.isEmpty else {
            guard files.isEmpty, list == nil else {
                throw SyntaxError("with --form, files are form fields; write --form name=@\(files.first ?? "file")")
            }
            var fields: [Field] = []
            for text in form { fields.append(try Self.field(text)) }
            return [Item(content: .form(fields), url: url, name: "form")]
        }
        if let list {
            guard !list.isEmpty else {
                throw SyntaxError("--input-file is empty; name a file, or - for standard input")
            }
            guard list != "-" || !files.contains("-") else { throw SyntaxError("standard input can be sent only once") }
        } else if files.isEmpty {
            throw SyntaxError("no file given; write martlet put FILE URL")
        }
        let isFolder = url.isFolder
        guard (files.count == 1 && list == nil) || isFolder || method == "POST" else {
            throw SyntaxError("several files need a URL that ends in a slash, to which each file's name is appended")
        }
        var items: [Item] = []
        for file in files {
            guard file != "-" else {
                guard !items.contains(where: { $0.content == .standardInput }) else {
                    throw SyntaxError("standard input can be sent only once")
                }
                guard !isFolder || method == "POST" else {
                    throw SyntaxError("standard input has no name; write a URL that includes the file's name")
                }
                items.append(Item(content: .standardInput, url: url, name: "standard input"))
                continue
            }
            items.append(try self.item(file, to: url, by: method))
        }
        return items
    }

    private static func field(_ text: String) throws(SyntaxError) -> Field {
        guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
            throw SyntaxError("\"\(DisplayText.clean(text))\" is not a form field; write name=value or name=@file")
        }
        let value = text[text.index(after: equals)...]
        let isFile = value.hasPrefix("@")
        return Field(
            name: String(text[..<equals]),
            value: String(isFile ? value.dropFirst() : value),
            isFile: isFile
        )
    }

    /// Encodes a form's content with a random boundary, and its media type.
    static func form(_ fields: [Field]) -> (parts: [UploadContent.Part], type: String) {
        var random = SystemRandomNumberGenerator()
        let encoding = FormEncoding(random: (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
        var parts: [UploadContent.Part] = []
        for (index, field) in fields.enumerated() {
            let head = encoding.head(
                field.name,
                fileName: field.isFile ? field.value.lastComponent : nil,
                type: field.isFile ? "application/octet-stream" : nil,
                isFirst: index == 0
            )
            parts.append(.bytes(head))
            parts.append(field.isFile ? .file(field.value) : .bytes(Array(field.value.utf8)))
        }
        return (parts + [.bytes(encoding.tail(isEmpty: fields.isEmpty))], encoding.type)
    }
}
