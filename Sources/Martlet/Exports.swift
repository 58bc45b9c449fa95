// SPDX-License-Identifier: Apache-2.0
// The field's own values (URLs, header fields, priorities, cookies) are part of this library's interface. Each one is
// named, because TransferCore's other types are not part of it.
@_exported public import enum TransferCore.ByteCount
@_exported public import enum TransferCore.CachePolicy
@_exported public import struct TransferCore.Cookie
@_exported public import struct TransferCore.CookieFileProblem
@_exported public import enum TransferCore.Credential
@_exported public import struct TransferCore.Credentials
@_exported public import enum TransferCore.DigestAlgorithm
@_exported public import struct TransferCore.ExpectedDigest
@_exported public import enum TransferCore.FileName
@_exported public import struct TransferCore.HTTPURL
@_exported public import struct TransferCore.HeaderFields
@_exported public import struct TransferCore.Origin
@_exported public import enum TransferCore.Priority
@_exported public import struct TransferCore.ProtectionSpace
@_exported public import struct TransferCore.ProxyExceptions
@_exported public import struct TransferCore.ProxyServer
@_exported public import struct TransferCore.ProxySettings
@_exported public import struct TransferCore.PublicSuffixes
@_exported public import enum TransferCore.ResponseSource
@_exported public import enum TransferCore.ResumableProtocol
@_exported public import enum TransferCore.Scheme
@_exported public import struct TransferCore.SyntaxError
@_exported public import struct TransferCore.TLSOptions
@_exported public import enum TransferCore.TransferNotification
