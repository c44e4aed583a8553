/// The streams that have frames to send, first come first served.
struct StreamQueue {
    private(set) var first: StreamPointer?
    private var last: StreamPointer?

    mutating func append(_ stream: StreamPointer) {
        guard !stream.pointee.isQueued else { return }
        stream.pointee.isQueued = true
        stream.pointee.previousInQueue = last
        stream.pointee.nextInQueue = nil
        if let last { last.pointee.nextInQueue = stream } else { first = stream }
        last = stream
    }

    mutating func remove(_ stream: StreamPointer) {
        guard stream.pointee.isQueued else { return }
        stream.pointee.isQueued = false
        let (previous, next) = (stream.pointee.previousInQueue, stream.pointee.nextInQueue)
        if let previous { previous.pointee.nextInQueue = next } else { first = next }
        if let next { next.pointee.previousInQueue = previous } else { last = previous }
    }
}
