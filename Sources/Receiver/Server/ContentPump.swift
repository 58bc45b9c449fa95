/// Sends content that takes more than one write.
protocol ContentPump: AnyObject {
    /// The connection was closed.
    func lost()
    /// Sends the next chunk if the connection is writable.
    func goOn()
}
