import HTTPLanes
import Notifications
import Units

/// A notification that plugins are rehearsed with.
struct RehearsalSample: Sendable {
    let name: String
    let about: String
    let notification: Notification

    static let plain = RehearsalSample(name: "alert", about: "everything that there is", notification: full(.alert))

    /// Each mode, a batch, and what strangers may write.
    static let all = [
        plain,
        RehearsalSample(
            name: "nudge",
            about: "a neutral text, no sender, no content",
            notification: .nudge(.dm, urgency: .normal, neutral)
        ),
        RehearsalSample(name: "wake", about: "that something happened", notification: .wake(.dm, urgency: .normal)),
        RehearsalSample(name: "sealed", about: "encrypted to the device", notification: full(.sealed)),
        RehearsalSample(name: "batch", about: "12 events as one", notification: batch),
        RehearsalSample(name: "hostile", about: "texts that want to be more than texts", notification: hostile),
        RehearsalSample(name: "long", about: "a text of 20,000 characters", notification: long),
    ]

    private static let neutral = NeutralTexts(title: "New message", body: "Open the app to read it")

    private static func full(_ mode: Mode) -> Notification {
        Notification(
            mode: mode,
            signal: .dm,
            urgency: .high,
            title: "Alice",
            subtitle: "Direct message",
            body: "Hello from Carillon",
            category: "dm",
            thread: "alice",
            collapseKey: "dm-alice",
            url: "nostr:note1rehearsal",
            actions: [NotificationAction(id: "com.example.reply", label: "Reply", url: "app:reply")],
            data: #"{"event_id":"5c83da77af1dec6d7289834998ad7aafbd9e2191396d75ec3cc27f5a77226f36"}"#,
            neutral: neutral
        )
    }

    private static var batch: Notification {
        var notification = full(.alert)
        notification.count = 12
        notification.title = "12 new messages"
        return notification
    }

    private static var hostile: Notification {
        var notification = full(.alert)
        notification.title = "</title><script>alert(\"1\")</script> \u{202e}desrever\u{202c} \\\" ${HOME} %s {{title}}"
        notification.body = "one\r\nX-Injected: two\r\n\r\n\u{0}\u{7}\u{1b}[31m 👩‍👩‍👧‍👦 é ﷽ 'quoted' & <b>bold</b>"
        return notification
    }

    private static var long: Notification {
        var notification = full(.alert)
        notification.body = String(repeating: "All work and no play. ", count: 910)
        return notification
    }
}

/// What a push service that is played answers.
struct PlayedAnswer: Sendable {
    let name: String
    let result: Result<HTTPResponse, HTTPFailure>

    init(_ status: Int, retryAfter: Int? = nil) {
        var headers = HTTPFields()
        if let retryAfter { headers.append("retry-after", "\(retryAfter)") }
        self.init(.success(HTTPResponse(status: status, headers: headers)))
    }

    private init(_ reason: HTTPFailure.Reason) {
        self.init(.failure(HTTPFailure(reason, mayHaveBeenProcessed: true)))
    }

    private init(_ result: Result<HTTPResponse, HTTPFailure>) {
        name = Self.words(for: result)
        self.result = result
    }

    /// What a push service answered.
    static func words(for result: Result<HTTPResponse, HTTPFailure>) -> String {
        switch result {
        case .failure(let failure): "no answer (\(failure.reason.rawValue))"
        case .success(let response):
            "\(response.status)"
                + (response.headers.first { $0.name == "retry-after" }.map { ", Retry-After: \($0.value)" } ?? "")
        }
    }

    /// What push services usually answer.
    static let all = [
        PlayedAnswer(200), PlayedAnswer(400), PlayedAnswer(401), PlayedAnswer(403), PlayedAnswer(404),
        PlayedAnswer(410), PlayedAnswer(413), PlayedAnswer(429, retryAfter: 30), PlayedAnswer(500), PlayedAnswer(503),
        PlayedAnswer(.timeout), PlayedAnswer(.tlsUntrusted),
    ]
}
