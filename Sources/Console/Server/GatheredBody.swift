import HTTPListening
import NIOCore
import Units

/// The body of a request while it is read. One that turns out longer than usual needs leave: a look at what is asked,
/// and who asks.
struct GatheredBody {
    private(set) var bytes = ByteBuffer()
    /// Whether it got leave to be longer than usual.
    private(set) var isLong = false
    private var limit: ByteCount
    private var refusal: APIProblem?

    init(usual: ByteCount) {
        limit = usual
    }

    /// `leave` is asked once at most, and says how long the body may be.
    mutating func add(_ part: ByteBuffer, leave: () throws(APIProblem) -> ByteCount) throws(RequestError) {
        let count = bytes.readableBytes + part.readableBytes
        if count > limit.bytes, !isLong {
            do throws(APIProblem) {
                limit = try leave()
                isLong = true
            } catch {
                refusal = error
            }
        }
        guard count <= limit.bytes else { throw .tooLong }
        bytes.writeImmutableBuffer(part)
    }

    /// What to answer when it was too long.
    var problem: APIProblem { refusal ?? Self.tooLong(limit) }

    static func tooLong(_ limit: ByteCount) -> APIProblem {
        APIProblem(413, "the body: expected at most \(limit.bytes) bytes")
    }
}
