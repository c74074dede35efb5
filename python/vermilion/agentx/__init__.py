"""AgentX (RFC 2741): being a part of the SNMP agent that a machine runs already.

An SNMP agent like snmpd is the *master*: it speaks SNMP, checks who may do what, and passes
questions about some objects on to a *subagent* over a local socket. This room is a subagent for any
objects.

Pure are the codec (:mod:`.codec`: bytes to messages and back; :mod:`.stream` cuts them out of what
arrives), and the conversation (:mod:`.subagent`: registers, answers, tests, commits, undoes).
:mod:`.driver` owns the socket and the clock. What is served is an :class:`.objects.ManagedObjects`.
"""
