import CBreadcrumbs
import CarillonABI

// The functions of a plugin in the router's own process, each of which leaves a note while it is inside.

extension TransportFunctions {
    /// The same functions, noting in `crumbs` what they are given.
    func noting(in crumbs: Breadcrumbs, as plugin: StaticName) -> TransportFunctions {
        var functions = self
        functions.create = crumbs.noting(create, of: plugin)
        functions.destroy = crumbs.noting(destroy, of: plugin)
        functions.deliver = { [deliver] instance, ticket, registration, notification in
            let id = notification?.pointee.id ?? carillon_str()
            return crumbs.during(.deliver, plugin, id) { deliver(instance, ticket, registration, notification) }
        }
        if let deliverMany {
            // Only the first is noted. After a death each is given alone, and the note is exact.
            functions.deliverMany = { instance, deliveries, count in
                guard !crumbs.isTryingAlone else { return .CARILLON_UNSUPPORTED }
                let id = (count > 0 ? deliveries?[0]?.pointee.notification?.pointee.id : nil) ?? carillon_str()
                return crumbs.during(.deliver, plugin, id) { deliverMany(instance, deliveries, count) }
            }
        }
        if let receive {
            functions.receive = { instance, request, done, context in
                crumbs.during(.receive, plugin, carillon_str()) { receive(instance, request, done, context) }
            }
        }
        functions.isSetAside = { id in crumbs.isGuilty(plugin.text, id) }
        if let validate {
            functions.validate = { instance, registration, error in
                let subject = Breadcrumbs.fingerprint(registration?.pointee.token ?? carillon_str())
                guard !crumbs.isGuilty(plugin.text, subject) else {
                    ErrorBuffer.write("the router ended twice while the plugin checked this registration", to: error)
                    return .CARILLON_INVALID
                }
                return subject.lend { subject in
                    crumbs.during(.validate, plugin, subject) { validate(instance, registration, error) }
                }
            }
        }
        if let cancel {
            functions.cancel = { instance, ticket in
                crumbs.during(.cancel, plugin, carillon_str()) { cancel(instance, ticket) }
            }
        }
        if let command {
            functions.command = { instance, words, count, done, context in
                crumbs.during(.command, plugin, carillon_str()) { command(instance, words, count, done, context) }
            }
        }
        if let check {
            functions.check = { block, error in
                let subject = Breadcrumbs.fingerprint(block)
                guard !crumbs.isGuilty(plugin.text, subject) else {
                    ErrorBuffer.write("the router ended twice while the plugin checked this block", to: error)
                    return .CARILLON_INVALID
                }
                return subject.lend { subject in crumbs.during(.check, plugin, subject) { check(block, error) } }
            }
        }
        return functions
    }
}

extension FilterFunctions {
    /// The same functions, noting in `crumbs` what they are given.
    func noting(in crumbs: Breadcrumbs, as plugin: StaticName) -> FilterFunctions {
        var functions = self
        functions.create = crumbs.noting(create, of: plugin)
        functions.destroy = crumbs.noting(destroy, of: plugin)
        functions.decide = { [decide] instance, call, verdict in
            let subject = Breadcrumbs.fingerprint(call?.pointee.event ?? carillon_str())
            guard !crumbs.isGuilty(plugin.text, subject) else { return .CARILLON_FAILED }
            return subject.lend { subject in
                crumbs.during(.decide, plugin, subject) { decide(instance, call, verdict) }
            }
        }
        return functions
    }
}

extension Breadcrumbs {
    /// A configuration on which the router ended twice is refused, so that everything else can start.
    fileprivate func noting(
        _ create: @escaping TransportFunctions.Create,
        of plugin: StaticName
    ) -> TransportFunctions.Create {
        { [self] host, configuration, instance, error in
            let subject = Breadcrumbs.fingerprint(configuration)
            guard !isGuilty(plugin.text, subject) else {
                ErrorBuffer.write("the router ended twice while the plugin took this configuration", to: error)
                return .CARILLON_INVALID
            }
            return subject.lend { subject in
                during(.create, plugin, subject) { create(host, configuration, instance, error) }
            }
        }
    }

    /// Names the plugin and keeps nothing from it: an instance that is not destroyed would be left behind.
    fileprivate func noting(
        _ destroy: @escaping TransportFunctions.Destroy,
        of plugin: StaticName
    ) -> TransportFunctions.Destroy {
        { [self] instance in during(.destroy, plugin, carillon_str()) { destroy(instance) } }
    }
}

/// What a plugin was inside of when it asked for something that comes later: an answer, a timer, an event of a stream.
///
/// Unchecked: it does not change.
final class LastingNote: @unchecked Sendable {
    private let crumb: carillon_crumb

    /// That of the calling thread; nil where no notes are taken.
    static var current: LastingNote? {
        var crumb = carillon_crumb()
        carillon_crumb_current(&crumb)
        return crumb.call == 0 ? nil : LastingNote(crumb)
    }

    private init(_ crumb: carillon_crumb) { self.crumb = crumb }

    /// Calls the plugin again, where `note` says what it was inside of when it asked for that.
    static func during(_ function: InterruptedCall.Function, _ note: LastingNote?, _ body: () -> Void) {
        guard let crumb = note?.crumb else { return body() }
        var former = carillon_crumb()
        withUnsafeBytes(of: crumb.plugin) { plugin in
            withUnsafeBytes(of: crumb.subject) { subject in
                carillon_crumb_enter(
                    &former,
                    function.rawValue,
                    plugin.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int(crumb.plugin_length),
                    subject.baseAddress,
                    Int(crumb.subject_length)
                )
            }
        }
        body()
        carillon_crumb_leave(&former)
    }
}

extension String {
    /// Lends the text for the time of `body`.
    fileprivate func lend<Result>(_ body: (carillon_str) -> Result) -> Result {
        var text = self
        return text.withUTF8 { body(carillon_str(ptr: UnsafeRawPointer($0.baseAddress), len: $0.count)) }
    }
}
