import Cipher
import Foundation

/// What ntfy answers to a message it took.
struct NtfyMessage {
    /// ntfy keeps messages for 12 hours.
    private static let lifetimeSeconds: Int64 = 12 * 3_600

    /// The answer's members.
    let members: JSONValue

    /// `now` in seconds since 1970. Throws for what ntfy does not take of what goes with the message.
    init(_ publication: NtfyPublication, now: Int64, random: RandomBytes) throws(NtfyError) {
        let parameters = publication.parameters
        let time = try parameters.delay(now: now) ?? now
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        var members: [String: JSONValue] = [
            "id": .string(String(random(12).map { alphabet[Int($0) % alphabet.count] })), "event": .string("message"),
            "time": .integer(time), "topic": .string(publication.topic),
        ]
        if !parameters.isOff("x-cache", "cache") {
            members["expires"] = .integer(time + Self.lifetimeSeconds)
        }
        let text = String(validating: publication.body, as: UTF8.self)
        var message = text ?? Base64.encode(publication.body)
        members["encoding"] = text == nil ? .string("base64") : nil
        if !publication.isUnifiedPush {
            message = message.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        if message.isEmpty {
            message = parameters["x-message", "message", "m"]?.replacing("\\n", with: "\n") ?? "triggered"
        }
        members["message"] = .string(message)
        members["title"] = parameters["x-title", "title", "t"].map(JSONValue.string)
        members["priority"] = try parameters.priority().map { .integer(Int64($0)) }
        members["tags"] = parameters["x-tags", "tags", "tag", "ta"].map { tags in
            .array(tags.split(separator: ",").map { .string($0.trimmingCharacters(in: .whitespaces)) })
        }
        members["click"] = parameters["x-click", "click"].map(JSONValue.string)
        members["icon"] = try parameters.icon().map(JSONValue.string)
        if let actions = parameters["x-actions", "actions", "action"] {
            members["actions"] = .array(try NtfyActions.parse(actions))
        }
        if parameters.isSet("x-markdown", "markdown", "md") || parameters["content-type"] == "text/markdown" {
            members["content_type"] = .string("text/markdown")
        }
        self.members = .object(members)
    }
}

extension NtfyParameters {
    fileprivate func isOff(_ names: String...) -> Bool {
        let value = names.lazy.compactMap { self[$0] }.first?.lowercased()
        return value == "0" || value == "no" || value == "false"
    }
}
