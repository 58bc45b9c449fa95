internal import FileStorage

/// An open file that is closed once, at the latest with the last reference; NIO has another type of its name.
typealias OpenFile = FileStorage.FileDescriptor
