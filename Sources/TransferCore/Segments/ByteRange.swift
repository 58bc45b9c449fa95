/// A half-open range of byte offsets.
///
/// On the wire ranges include their last byte (RFC 9110 §14.1.2); here they never do.
public typealias ByteRange = Range<Int64>
