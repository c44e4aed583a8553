import Notifications

/// Whether a transport serves an address, and likes the look of it; asked before the address is taken.
///
/// Throws a ``RegistrationRefusal`` when not. Any other error refuses the registration as well, and its text is not
/// passed on, for it might quote the token.
package typealias PlatformCheck = @Sendable (DeviceAddress) throws -> Void

/// Says what was expected in place of a signal's name that a registration uses; nil where there is such a signal.
package typealias SignalCheck = @Sendable (String) -> String?
