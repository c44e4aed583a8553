import Units

/// Says when to read on from a relay that says a little very often: each time that its socket is looked at costs more
/// than an event does, so what comes within a short time is read together.
///
/// The moments are the same for all busy relays, so that a thread wakes once for all of its relays. A relay that is not
/// that busy is read at once.
struct ReadPacing {
    /// From one such moment to the next: how long a busy relay's events may wait in the socket.
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
        let wait = now - lastRead
        if isBusy {
            // The first wait may be a short one.
            if messages < 2, wait >= Self.pause / 2 { (isBusy, fastReads) = (false, 0) }
        } else {
            fastReads = wait < Self.pause / 2 ? fastReads + 1 : 0
            isBusy = fastReads >= Self.streak
        }
        (lastRead, lastCount) = (now, messages)
    }

    /// The moment to wait for with the next read; nil: it need not wait.
    func nextRead(now: Deadline) -> Deadline? {
        guard isBusy, lastCount < Self.enough else { return nil }
        let pause = Self.pause.milliseconds
        let next = Deadline(milliseconds: (lastRead.milliseconds / pause + 1) * pause)
        return next > now ? next : nil
    }
}
