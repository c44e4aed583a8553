import Core

/// One thing that the API does: where, for whom, with which parameters.
///
/// The list of endpoints is the one source of what is dispatched, who may ask, and what the API's description says.
package struct APIEndpoint: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// Throws an ``APIProblem``; anything else is answered 500.
    package typealias Answer = @Sendable (APICall) async throws -> ConsoleAnswer

    package let method: Method
    /// As in `/v1/devices/{device}`.
    package let path: String
    package let access: APIAccess
    package let parameters: [APIParameter]
    /// Nil: it takes no body.
    package let body: APIBody?
    /// Monitoring asks for it, so that it costs little and strangers' limits do not count.
    package let isProbe: Bool
    /// Whether answering takes some 100 µs of its thread at most, so that it may stay on the event loop of its
    /// connection.
    package let isBrief: Bool
    package let answer: Answer

    package init(
        _ method: Method,
        _ path: String,
        for access: APIAccess,
        _ parameters: [APIParameter] = [],
        body: APIBody? = nil,
        isProbe: Bool = false,
        isBrief: Bool = false,
        answer: @escaping Answer
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.parameters = parameters
        self.body = body
        self.isProbe = isProbe
        self.isBrief = isBrief
        self.answer = answer
    }

    /// The names of what is in braces, in the order of the path.
    static func names(in path: String) -> [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}

/// Who may ask for an endpoint.
package enum APIAccess: Sendable, Hashable {
    case everybody
    /// Whoever has that scope.
    case scope(APIScope)
    /// Whoever signs the request with their Nostr key (NIP-98), for what is theirs.
    case owner
}

/// What a token is good for.
package enum APIScope: String, Sendable, CaseIterable, Codable {
    /// To look at everything, and change nothing.
    case read
    /// To change things: devices, deliveries, access, levels of the log, the configuration in force.
    case operate
    /// To send notifications.
    case send
}

/// Who asks.
package enum APIPrincipal: Sendable, Hashable {
    /// Someone who works for the operator, by name.
    case agent(String, Set<APIScope>)
    /// The account with this key, in hexadecimal digits, which signed the request.
    case owner(String)

    func may(_ access: APIAccess) -> Bool {
        switch (access, self) {
        case (.everybody, _): true
        case (.scope(let scope), .agent(_, let scopes)): scopes.contains(scope)
        case (.owner, .owner): true
        default: false
        }
    }
}

/// What an endpoint takes besides parameters.
package struct APIBody: Sendable {
    package let isRequired: Bool
    /// One type of content.
    package let contentType: String
    /// How long it may be from whoever may ask, where that is more than usual.
    package let limit: ByteCount?

    package init(isRequired: Bool = true, contentType: String = "application/json", limit: ByteCount? = nil) {
        self.isRequired = isRequired
        self.contentType = contentType
        self.limit = limit
    }
}

/// A parameter in the path or in the query.
package struct APIParameter: Sendable {
    package enum Place: String, Sendable {
        case path, query, header, cookie
    }

    package enum Form: Sendable, Equatable {
        /// Text of at most so many characters, and not empty.
        case text(Int)
        /// The same of letters, digits, `-` and `,`.
        case plain(Int)
        case integer(ClosedRange<Int64>)
        case choice([String])
        /// `true` and `1`, `false` and `0`.
        case flag
    }

    package let name: String
    package let place: Place
    package let form: Form
    package let summary: String
    package let isRequired: Bool

    package static func path(_ name: String, _ form: Form, _ summary: String) -> APIParameter {
        APIParameter(name: name, place: .path, form: form, summary: summary, isRequired: true)
    }

    package static func query(
        _ name: String,
        _ form: Form,
        _ summary: String,
        isRequired: Bool = false
    ) -> APIParameter {
        APIParameter(name: name, place: .query, form: form, summary: summary, isRequired: isRequired)
    }

    package static func header(_ name: String, _ form: Form, _ summary: String) -> APIParameter {
        APIParameter(name: name, place: .header, form: form, summary: summary, isRequired: false)
    }

    package static func cookie(_ name: String, _ form: Form, _ summary: String) -> APIParameter {
        APIParameter(name: name, place: .cookie, form: form, summary: summary, isRequired: false)
    }

    /// What was expected instead of `text`; nil when it is as it should be.
    func expectation(insteadOf text: String) -> String? {
        switch form {
        case .text(let longest):
            (1...longest).contains(text.unicodeScalars.count) ? nil : "a text of 1 to \(longest) characters"
        case .plain(let longest):
            (1...longest).contains(text.utf8.count) && text.utf8.allSatisfy(Self.isPlain)
                ? nil : "1 to \(longest) letters, digits, - and ,"
        case .integer(let range):
            Self.integer(text).map { range.contains($0) } ?? false
                ? nil : "a number from \(range.lowerBound) to \(range.upperBound)"
        case .choice(let choices): choices.contains(text) ? nil : "one of \(choices.joined(separator: ", "))"
        case .flag: ["true", "false", "1", "0"].contains(text) ? nil : "true or false"
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x2C || byte == 0x2D
    }

    /// A number in its one spelling.
    private static func integer(_ text: String) -> Int64? {
        guard let number = Int64(text), String(number) == text else { return nil }
        return number
    }
}

/// What a request says besides its path, as its endpoint wants it.
extension APIEndpoint {
    /// The parameters of the query. Before there were versions, ones that nobody knows were overlooked.
    func checked(
        _ path: [String: String],
        _ query: QueryString,
        _ head: APIRequestHead,
        isStrict: Bool
    ) throws(APIProblem) -> [String: String] {
        if isStrict, query.isUnclear {
            throw APIProblem(400, "the query: expected each parameter once, percent-encoded UTF-8")
        }
        for parameter in parameters {
            let text =
                switch parameter.place {
                case .path: path[parameter.name]
                case .query: query.parameters[parameter.name]
                case .header: head.fields(parameter.name).first
                // A browser sends what it has: a cookie that is none of ours is no mistake of whoever asks.
                case .cookie: nil as String?
                }
            guard let text else {
                if parameter.isRequired, parameter.place == .query {
                    throw APIProblem(400, "\(parameter.name): expected \(parameter.summary)")
                }
                continue
            }
            if let expected = parameter.expectation(insteadOf: text) {
                throw APIProblem(parameter.place == .path ? 404 : 400, "\(parameter.name): expected \(expected)")
            }
        }
        let known = parameters.filter { $0.place == .query }.map(\.name)
        if isStrict, let unknown = query.parameters.keys.sorted().first(where: { !known.contains($0) }) {
            let names = known.isEmpty ? "no parameters" : known.sorted().joined(separator: ", ")
            throw APIProblem(400, "\(unknown.prefix(40)): expected \(names)")
        }
        return query.parameters
    }

    /// The header fields and cookies that it names.
    func fields(of head: APIRequestHead) -> [String: String] {
        var fields: [String: String] = [:]
        for parameter in parameters {
            switch parameter.place {
            case .header: fields[parameter.name] = head.fields(parameter.name).first
            case .cookie: fields[parameter.name] = head.cookie(parameter.name)
            case .path, .query: break
            }
        }
        return fields
    }
}
