import Units

/// Says when to read on from a relay that says a little very often: each time that its socket is looked at costs more
/// than an event does, so what comes within a short time is read together.
///
/// A relay that is not that busy is read at once.
struct ReadPacing {
    /// How long a busy relay's next events may wait in the socket.
    static let pause: Duration = .milliseconds(10)
    /// So many reads in a row that follow each other fast make a relay a busy one.
    private static let streak = 8
    /// A read that brings so much need not wait for more.
    private static let enough = 256

    private var lastRead = Deadline.distantPast
    private var lastCount = 0
    private var fastReads = 0
    private var isBusy = false

    /// A read brought so many messages.
    mutating func noteRead(messages: Int, now: Deadline) {
        if isBusy {
            if messages < 2, now - lastRead >= Self.pause { (isBusy, fastReads) = (false, 0) }
        } else {
            fastReads = now - lastRead < Self.pause / 2 ? fastReads + 1 : 0
            isBusy = fastReads >= Self.streak
        }
        (lastRead, lastCount) = (now, messages)
    }

    /// How long to wait with the next read; nil: not at all.
    func wait(now: Deadline) -> Duration? {
        guard isBusy, lastCount < Self.enough else { return nil }
        let wait = lastRead + Self.pause - now
        return wait > .zero ? wait : nil
    }
}
