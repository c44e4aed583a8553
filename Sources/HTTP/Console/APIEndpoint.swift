import Core

/// An operation of the API: its path, access and parameters.
///
/// The list of endpoints is the single source for dispatch, access checks and the API's description.
package struct APIEndpoint: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// Throws an ``APIError``; any other error becomes a 500 response.
    package typealias Answer = @Sendable (APICall) async throws -> ConsoleAnswer

    package let method: Method
    /// The path's template, such as `/v1/devices/{device}`.
    package let path: String
    package let access: APIAccess
    package let parameters: [APIParameter]
    /// Nil: no body allowed.
    package let body: APIBody?
    /// Whether monitoring polls it: it is cheap and exempt from the limits for unauthenticated clients.
    package let isProbe: Bool
    /// Whether the handler needs at most about 100 µs, so that it may run on its connection's event loop.
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

    /// The names in braces, in path order.
    static func names(in path: String) -> [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}

/// The clients that may use an endpoint.
package enum APIAccess: Sendable, Hashable {
    case everybody
    /// Clients with that scope.
    case scope(APIScope)
    /// Accounts that sign the request with their Nostr key (NIP-98), for their own data.
    case owner
}

/// A permission of a token.
package enum APIScope: String, Sendable, CaseIterable, Codable {
    /// Reads everything and changes nothing.
    case read
    /// Changes devices, deliveries, access, log levels and the running configuration.
    case operate
    /// Sends notifications.
    case send
}

/// An authenticated client.
package enum APIPrincipal: Sendable, Hashable {
    /// A named client of the operator.
    case agent(String, Set<APIScope>)
    /// The account that signed the request, by its hexadecimal key.
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

/// The body that an endpoint takes.
package struct APIBody: Sendable {
    package let isRequired: Bool
    /// The only accepted content type.
    package let contentType: String
    /// The longest body from an authorized client, if it exceeds the usual limit.
    package let limit: ByteCount?

    package init(isRequired: Bool = true, contentType: String = "application/json", limit: ByteCount? = nil) {
        self.isRequired = isRequired
        self.contentType = contentType
        self.limit = limit
    }
}

/// A parameter in the path, the query, a header field or a cookie.
package struct APIParameter: Sendable {
    package enum Place: String, Sendable {
        case path, query, header, cookie
    }

    package enum Form: Sendable, Equatable {
        /// Non-empty text of up to that many characters.
        case text(Int)
        /// The same, only with letters, digits, `-` and `,`.
        case plain(Int)
        case integer(ClosedRange<Int64>)
        case choice([String])
        /// `true`, `1`, `false` or `0`.
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

    /// The expectation that `text` violates; nil if it is valid.
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

    /// A number in canonical spelling.
    private static func integer(_ text: String) -> Int64? {
        guard let number = Int64(text), String(number) == text else { return nil }
        return number
    }
}

/// Checks of a request's parameters.
extension APIEndpoint {
    /// The parameters of the query. Unversioned paths ignore unknown ones.
    func checked(
        _ path: [String: String],
        _ query: QueryString,
        _ head: APIRequestHead,
        isStrict: Bool
    ) throws(APIError) -> [String: String] {
        if isStrict, query.isUnclear {
            throw APIError(400, "the query: expected each parameter once, percent-encoded UTF-8")
        }
        for parameter in parameters {
            let text =
                switch parameter.place {
                case .path: path[parameter.name]
                case .query: query.parameters[parameter.name]
                case .header: head.fields(parameter.name).first
                // Browsers send all their cookies, so a cookie that is not ours is not an error.
                case .cookie: nil as String?
                }
            guard let text else {
                if parameter.isRequired, parameter.place == .query {
                    throw APIError(400, "\(parameter.name): expected \(parameter.summary)")
                }
                continue
            }
            if let expected = parameter.expectation(insteadOf: text) {
                throw APIError(parameter.place == .path ? 404 : 400, "\(parameter.name): expected \(expected)")
            }
        }
        let known = parameters.filter { $0.place == .query }.map(\.name)
        if isStrict, let unknown = query.parameters.keys.sorted().first(where: { !known.contains($0) }) {
            let names = known.isEmpty ? "no parameters" : known.sorted().joined(separator: ", ")
            throw APIError(400, "\(unknown.prefix(40)): expected \(names)")
        }
        return query.parameters
    }

    /// The header fields and cookies that the endpoint declares.
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
