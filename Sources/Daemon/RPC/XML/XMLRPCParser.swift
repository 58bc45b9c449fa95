// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

extension RPCCall {
    /// Parses the call of an XML-RPC message.
    ///
    /// Values become those that a JSON-RPC client sends: `base64` and `dateTime.iso8601` become texts, `nil` becomes
    /// `null`.
    ///
    /// - Parameters:
    ///   - bytes: The message, in UTF-8.
    ///   - depth: The maximum nesting of arrays and structs.
    /// - Throws: ``SyntaxError`` if it is not a call, nests deeper, or uses more of XML than ``XMLScanner`` accepts.
    /// - Source: the XML-RPC specification (xmlrpc.com/spec.md); `i8` and `nil` are common extensions.
    init(xml bytes: [UInt8], depth: Int = JSON.defaultDepth) throws(SyntaxError) {
        var parser = try XMLRPCParser(bytes)
        let (method, parameters) = try parser.call(depth)
        self.init(id: .null, method: method, parameters: .positional(parameters))
    }
}

/// A recursive descent parser with a limited depth.
private struct XMLRPCParser {
    private var scanner: XMLScanner
    private var token: XMLScanner.Token?

    init(_ bytes: [UInt8]) throws(SyntaxError) {
        self.scanner = try XMLScanner(bytes)
        self.token = try self.scanner.next()
    }

    mutating func call(_ depth: Int) throws(SyntaxError) -> (method: String, parameters: [JSON]) {
        try self.start("methodCall")
        try self.start("methodName")
        let method = try self.text("methodName").trimmed
        guard !method.isEmpty else { throw self.scanner.problem("the method's name is empty") }
        var parameters: [JSON] = []
        if try self.starts("params") {
            while try self.starts("param") {
                try self.start("value")
                parameters.append(try self.value(depth))
                try self.end("param")
            }
            try self.end("params")
        }
        try self.end("methodCall")
        try self.skipSpace()
        guard self.token == nil else { throw self.scanner.problem("there is text after the call") }
        return (method, parameters)
    }

    // MARK: Values

    /// Parses a value after its start tag, and its end tag.
    private mutating func value(_ depth: Int) throws(SyntaxError) -> JSON {
        var text = ""
        if case .text(let found)? = self.token {
            text = found
            try self.advance()
        }
        guard case .start(let type)? = self.token else {
            // A value without a type is a string, including its white space.
            try self.end("value")
            return .string(text)
        }
        guard text.isSpace else { throw self.scanner.problem("text precedes the type of a value") }
        try self.advance()
        let value = try self.value(type, depth)
        try self.end("value")
        return value
    }

    /// Parses the content of a typed value, and the end tag of its type.
    private mutating func value(_ type: String, _ depth: Int) throws(SyntaxError) -> JSON {
        switch type {
        case "array": return try self.array(depth)
        case "struct": return try self.object(depth)
        case "nil", "ex:nil":
            try self.end(type)
            return .null
        default: break
        }
        let text = try self.text(type)
        switch type {
        case "string", "dateTime.iso8601": return .string(text)
        case "int", "i4", "i8", "ex:i8":
            let digits = text.trimmed
            guard digits.utf8.count <= 20, let number = Int64(digits) else { break }
            return .integer(number)
        case "boolean":
            switch text.trimmed {
            case "0": return .bool(false)
            case "1": return .bool(true)
            default: break
            }
        case "double":
            let digits = text.trimmed
            guard digits.utf8.count <= 400, digits.utf8.allSatisfy({ "+-.eE0123456789".utf8.contains($0) }),
                let number = Double(digits), number.isFinite
            else { break }
            return .number(number)
        case "base64":
            let digits = text.utf8.filter { $0 > 0x20 }
            guard Base64.decode(digits) != nil else { break }
            return .string(String(decoding: digits, as: UTF8.self))
        default: throw self.scanner.problem("<\(type)> is not a value type")
        }
        throw self.scanner.problem("a value of the type \(type) is malformed")
    }

    private mutating func array(_ depth: Int) throws(SyntaxError) -> JSON {
        guard depth > 0 else { throw self.scanner.problem("the value is nested too deeply") }
        var elements: [JSON] = []
        try self.start("data")
        while try self.starts("value") { elements.append(try self.value(depth - 1)) }
        try self.end("data")
        try self.end("array")
        return .array(elements)
    }

    private mutating func object(_ depth: Int) throws(SyntaxError) -> JSON {
        guard depth > 0 else { throw self.scanner.problem("the value is nested too deeply") }
        var members: [JSON.Member] = []
        while try self.starts("member") {
            try self.start("name")
            let name = try self.text("name")
            try self.start("value")
            members.append(JSON.Member(name, try self.value(depth - 1)))
            try self.end("member")
        }
        try self.end("struct")
        return .object(members)
    }

    // MARK: Tokens

    private mutating func advance() throws(SyntaxError) { self.token = try self.scanner.next() }

    private mutating func skipSpace() throws(SyntaxError) {
        guard case .text(let text)? = self.token, text.isSpace else { return }
        try self.advance()
    }

    /// Parses a start tag if it is next, after white space.
    private mutating func starts(_ name: String) throws(SyntaxError) -> Bool {
        try self.skipSpace()
        guard self.token == .start(name) else { return false }
        try self.advance()
        return true
    }

    private mutating func start(_ name: String) throws(SyntaxError) {
        guard try self.starts(name) else { throw self.scanner.problem("<\(name)> is missing") }
    }

    private mutating func end(_ name: String) throws(SyntaxError) {
        try self.skipSpace()
        guard self.token == .end(name) else { throw self.scanner.problem("</\(name)> is missing") }
        try self.advance()
    }

    /// Parses the text up to an end tag, and the tag.
    private mutating func text(_ name: String) throws(SyntaxError) -> String {
        var text = ""
        if case .text(let found)? = self.token {
            text = found
            try self.advance()
        }
        guard self.token == .end(name) else { throw self.scanner.problem("</\(name)> is missing") }
        try self.advance()
        return text
    }
}

extension String {
    fileprivate var isSpace: Bool { self.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D } }

    /// The text without white space around it.
    fileprivate var trimmed: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
        let head = self.utf8.drop(while: isSpace)
        return String(decoding: head.reversed().drop(while: isSpace).reversed(), as: UTF8.self)
    }
}
