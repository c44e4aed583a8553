import Units

/// Says when to read on from a relay that says a little very often: each time that its socket is looked at costs more
/// than an event does, so what comes within a short time is read together.
///
/// The moments are the same for all busy relays, so that a thread wakes once for all of its relays. A relay that is not
/// that busy is read at once. Where hardly any event concerns somebody, there are half as many moments.
struct ReadPacing {
    /// From one such moment to the next: how long a busy relay's events may wait in the socket.
    static let pause: Duration = .milliseconds(10)
    /// The same where hardly any of them concerns somebody. A multiple of the other, so that they share moments.
    static let longPause: Duration = .milliseconds(20)
    /// Reads that follow each other faster than that make a relay a busy one.
    private static let fast: Duration = .milliseconds(5)
    /// So many of them in a row.
    private static let streak = 8
    /// A read that brings so much need not wait for more.
    private static let enough = 256
    /// Of so many messages fewer than one concerned somebody.
    private static let fewShare = 32
    /// The last messages that decide about that.
    private static let window = 1_024

    private var lastRead = Deadline.distantPast
    private var lastCount = 0
    private var fastReads = 0
    private var isBusy = false
    /// Of the last messages, how many concerned somebody as far as was seen.
    private var recent = (messages: 0, wanted: 0)

    private var pause: Duration {
        recent.wanted * Self.fewShare < recent.messages ? Self.longPause : Self.pause
    }

    /// A read brought so many messages, and so many of them may concern somebody.
    mutating func noteRead(messages: Int, wanted: Int, now: Deadline) {
        let wait = now - lastRead
        if isBusy {
            // The first wait may be a short one.
            if messages < 2, wait >= pause / 2 { (isBusy, fastReads) = (false, 0) }
        } else {
            fastReads = wait < Self.fast ? fastReads + 1 : 0
            isBusy = fastReads >= Self.streak
        }
        if recent.messages >= Self.window { recent = (recent.messages / 2, recent.wanted / 2) }
        recent = (recent.messages + messages, recent.wanted + wanted)
        (lastRead, lastCount) = (now, messages)
    }

    /// The moment to wait for with the next read; nil: it need not wait.
    func nextRead(now: Deadline) -> Deadline? {
        guard isBusy, lastCount < Self.enough else { return nil }
        let pause = pause.milliseconds
        let next = Deadline(milliseconds: (lastRead.milliseconds / pause + 1) * pause)
        return next > now ? next : nil
    }
}
