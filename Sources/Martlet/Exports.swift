// The field's own values (URLs, header fields, priorities, cookies) are part of this library's interface.
@_exported public import TransferCore
